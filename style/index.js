import './base.css';
import './gpu.css';
import './runs.css';
import './card.css';
