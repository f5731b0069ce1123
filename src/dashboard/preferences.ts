import { useSyncExternalStore } from 'react';

/** How this person looks at things, on this machine only. */
export type Theme = 'system' | 'light' | 'dark';
export type Zone = 'utc' | 'local';

const listeners = new Set<() => void>();
const systemDark = matchMedia('(prefers-color-scheme: dark)');

function read<V extends string>(name: string, allowed: readonly V[], otherwise: V): V {
  try {
    const value = localStorage.getItem(`gateway.${name}`) as V | null;
    return value !== null && allowed.includes(value) ? value : otherwise;
  } catch {
    return otherwise;
  }
}

let theme: Theme = read('theme', ['system', 'light', 'dark'], 'system');
let zone: Zone = read('zone', ['utc', 'local'], 'utc');

function write(name: string, value: string): void {
  try {
    localStorage.setItem(`gateway.${name}`, value);
  } catch {
    // Storage may be refused; the choice holds until the page is left.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function applyTheme(): void {
  const dark = theme === 'dark' || (theme === 'system' && systemDark.matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
}

systemDark.addEventListener('change', () => {
  applyTheme();
  for (const listener of listeners) listener();
});

export function setTheme(next: Theme): void {
  theme = next;
  applyTheme();
  write('theme', next);
}

export function setZone(next: Zone): void {
  zone = next;
  write('zone', next);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => theme);
}

/** What is on screen now, whatever it was chosen by. */
export function useShownTheme(): 'light' | 'dark' {
  return useSyncExternalStore(subscribe, () =>
    theme === 'dark' || (theme === 'system' && systemDark.matches) ? 'dark' : 'light',
  );
}

export function useZone(): Zone {
  return useSyncExternalStore(subscribe, () => zone);
}
