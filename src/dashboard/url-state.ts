import { useNavigate, useSearch } from '@tanstack/react-router';
import { type DayRange, PRESETS, type Preset, presetRange } from './time.ts';

/** Everything a page lets people choose lies in the address, so that a link shows what its sender saw. */
export type UrlState = Record<string, string | undefined>;

export function useUrlState(): [UrlState, (patch: UrlState) => void] {
  const search = useSearch({ strict: false }) as UrlState;
  const navigate = useNavigate();
  const set = (patch: UrlState) =>
    navigate({
      to: '.',
      search: ((before: UrlState) => withoutEmpty({ ...before, ...patch })) as never,
      replace: true,
      resetScroll: false,
    });
  return [search, set];
}

export function withoutEmpty(state: UrlState): UrlState {
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined && value !== ''));
}

/** The range travels from page to page; filters do not. */
export function keepRange(state: UrlState): UrlState {
  return withoutEmpty({ range: state.range, from: state.from, to: state.to });
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

export interface ChosenRange extends DayRange {
  preset: Preset | 'custom';
}

export function useRange(otherwise: Preset = '30d'): ChosenRange {
  const [{ range, from, to }] = useUrlState();
  if (range === 'custom' && DAY.test(from ?? '') && DAY.test(to ?? '') && from! <= to!) {
    return { preset: 'custom', from: from!, to: to! };
  }
  const preset = range && range in PRESETS ? (range as Preset) : otherwise;
  return { preset, ...presetRange(preset, Date.now()) };
}

const PAGE_ROWS = 50;

/** Which page of a long list is shown. */
export function usePaging(rows = PAGE_ROWS): { limit: number; offset: number; page: number } {
  const [{ page }] = useUrlState();
  const number = Math.max(1, Math.floor(Number(page)) || 1);
  return { limit: rows, offset: (number - 1) * rows, page: number };
}
