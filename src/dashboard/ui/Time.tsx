import { useEffect, useState } from 'react';
import { relativeTime, type TimeShape, useFormatTime } from '../time.ts';

const TICK_MS = 15_000;

export function Time({ at, shape = 'minute' }: { at: string; shape?: TimeShape }) {
  const format = useFormatTime();
  return (
    <time dateTime={at} title={format(at, 'full')} className="tabular-nums sm:whitespace-nowrap">
      {format(at, shape).replace(' ', '\u00a0')}
    </time>
  );
}

/** How long ago, or until when; the clock time on hover. */
export function Age({ at, never = 'never' }: { at: string | null; never?: string }) {
  const format = useFormatTime();
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  if (at === null) return <span className="text-faint">{never}</span>;
  return (
    <time dateTime={at} title={format(at, 'full')} className="whitespace-nowrap">
      {relativeTime(at, nowMs)}
    </time>
  );
}
