import type uPlot from 'uplot';

export type Plot = typeof uPlot;

const FALLBACK_LANGUAGE = 'en-US';

let loading: Promise<Plot> | undefined;

/** The library that draws: a sixth of all that the first page loads, so figures in words do not wait for it. */
export function loadPlot(): Promise<Plot> {
  nameLanguage();
  loading ??= import('uplot').then(
    (library) => library.default,
    (error) => {
      loading = undefined;
      throw error;
    },
  );
  return loading;
}

/**
 * A browser started without a locale names its language `en-US@posix`, which no formatter takes; the library makes
 * one with it while it loads, and would take the page down with it.
 */
function nameLanguage(): void {
  try {
    new Intl.NumberFormat(navigator.language);
  } catch {
    Object.defineProperty(navigator, 'language', { value: FALLBACK_LANGUAGE, configurable: true });
  }
}
