/** What a browser has, jsdom lacks, and our packages touch when they are loaded or drawn. */
class Observer {
  observe() {}
  unobserve() {}
  disconnect() {}
}

globalThis.DragEvent ??= class DragEvent extends MouseEvent {};
globalThis.Path2D ??= class Path2D {};
globalThis.IntersectionObserver ??= Observer;
globalThis.ResizeObserver ??= Observer;
// Without it a ReactWidget takes the whole jest process down.
globalThis.requestIdleCallback ??= callback => setTimeout(callback, 0);
globalThis.cancelIdleCallback ??= clearTimeout;
window.matchMedia ??= () => ({
  matches: false,
  addEventListener() {},
  removeEventListener() {},
  addListener() {}
});
HTMLCanvasElement.prototype.getContext = () => null;
