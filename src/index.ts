import gpu from './gpu/plugin';
import runs from './runs/plugin';

export default [gpu, runs];
