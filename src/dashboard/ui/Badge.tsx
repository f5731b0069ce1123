import type { ReactNode } from 'react';

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'neutral';

const TONES: Record<Tone, string> = {
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  accent: 'bg-accent-soft text-accent',
  neutral: 'bg-sunken text-muted',
};

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-flex h-5 items-center rounded-full px-2 text-[12px] font-medium whitespace-nowrap ${TONES[tone]}`}
    >
      {children}
    </span>
  );
}

/** The HTTP status a request was answered with. */
export function StatusBadge({ status }: { status: number }) {
  return <Badge tone={status < 300 ? 'good' : status < 500 ? 'warn' : 'bad'}>{status}</Badge>;
}

export function SeverityBadge({ severity }: { severity: string }) {
  const tone = severity === 'critical' ? 'bad' : severity === 'warning' ? 'warn' : 'accent';
  return <Badge tone={tone}>{severity}</Badge>;
}
