import { formatCount } from '../numbers.ts';
import { useUrlState } from '../url-state.ts';
import { Button } from './Button.tsx';

export function Pager({ total, limit, offset }: { total: number; limit: number; offset: number }) {
  const [, set] = useUrlState();
  if (total === 0) return null;
  const page = Math.floor(offset / limit) + 1;
  const turn = (to: number) => set({ page: to === 1 ? undefined : String(to) });
  return (
    <nav
      aria-label="Pages"
      className="flex items-center justify-between gap-3 border-t border-line px-4 py-2"
    >
      <p className="text-[13px] text-muted tabular-nums">
        {formatCount(Math.min(offset + 1, total))}–{formatCount(Math.min(offset + limit, total))} of{' '}
        {formatCount(total)}
      </p>
      <div className="flex gap-2">
        <Button small disabled={page === 1} onClick={() => turn(page - 1)}>
          Previous
        </Button>
        <Button small disabled={offset + limit >= total} onClick={() => turn(page + 1)}>
          Next
        </Button>
      </div>
    </nav>
  );
}
