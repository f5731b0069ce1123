/** Outlines on a 20-unit grid, one stroke width, in the colour of the text beside them. */
const PATHS = {
  overview: 'M3 11h5V3H3zM12 17h5V9h-5zM3 17h5v-3H3zM12 6h5V3h-5z',
  explore: 'M4 5h12M6.500 10h7M9 15h2',
  requests: 'M3 5h14M3 10h14M3 15h9',
  live: 'M2.500 10h3l2-5 4 10 2.500-7 1 2h2.500',
  budget: 'M3 6h14v9H3zM3 9h14M6 12.500h3',
  quota: 'M3.500 14a7 7 0 1 1 13 0M10 12l3-4',
  kill: 'M10 3v7M6 5.500a6.500 6.500 0 1 0 8 0',
  alert: 'M5 13V9a5 5 0 0 1 10 0v4l1.500 2h-13zM8.500 17.500h3',
  savings:
    'M10 3v14M13.500 6c-1-1-2-1.200-3.500-1.200-2 0-3.200 1-3.200 2.500 0 3.600 7 1.700 7 5.300 0 1.600-1.500 2.600-3.600 2.600-1.700 0-3-.5-4-1.500',
  models: 'M10 2.500 16.500 6v8L10 17.500 3.500 14V6zM3.500 6 10 9.700 16.500 6M10 9.700v7.800',
  reconcile: 'M4 7h10l-3-3M16 13H6l3 3',
  ledger:
    'M8.500 11.500l3-3M7.500 8 5 10.500a2.800 2.800 0 0 0 4 4L11.500 12M12.500 12l2.500-2.500a2.800 2.800 0 0 0-4-4L8.500 8',
  audit: 'M6 3h6l3 3v11H6zM8.500 9h4M8.500 12h4',
  connect: 'M7 4v4M13 4v4M5 8h10v2a5 5 0 0 1-10 0zM10 15v3',
  key: 'M12.500 3.500a4 4 0 1 1-2.800 6.800L4 16v-2.500M4 16h2.500',
  team: 'M7.500 9a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM2.500 16c0-3 2-4.700 5-4.700s5 1.700 5 4.700M13 4.300a2.500 2.500 0 0 1 0 4.600M14 11.500c2.200.4 3.500 2 3.500 4.500',
  webhook:
    'M10 7a3 3 0 1 0-2.500 3L5.500 14M10 7l2.500 4.500a3 3 0 1 1-1 4M5.500 14a2.500 2.500 0 1 0 2 3H12',
  settings: 'M4 6h7M15 6h1M4 14h1M9 14h7M13 4.500v3M7 12.500v3',
  menu: 'M3 6h14M3 10h14M3 14h14',
  close: 'M5 5l10 10M15 5 5 15',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 20 20"
      className="size-[18px] shrink-0"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
