/** What talks to the server, in one piece: loaded apart, each of the two would bring the client with it. */
export { GpuApi } from '../api';
export { GpuModel } from './model';
