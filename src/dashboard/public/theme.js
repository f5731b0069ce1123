// Runs before the first paint, so that nobody who chose dark is blinded by a white page first.
let chosen = null;
try {
  chosen = localStorage.getItem('gateway.theme');
} catch {
  // Storage may be refused; the system's theme is shown then.
}
const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
document.documentElement.dataset.theme = dark ? 'dark' : 'light';
