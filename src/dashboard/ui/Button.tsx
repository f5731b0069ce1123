import { Link, type LinkProps } from '@tanstack/react-router';
import type { ButtonHTMLAttributes, ReactNode } from 'react';

type Look = 'primary' | 'plain' | 'quiet' | 'danger' | 'danger-quiet';

const LOOKS: Record<Look, string> = {
  primary: 'bg-accent-strong text-white hover:brightness-110 border-transparent',
  plain: 'bg-surface text-ink border-line-strong hover:bg-sunken',
  quiet: 'bg-transparent text-muted border-transparent hover:bg-sunken hover:text-ink',
  danger: 'bg-bad-strong text-white border-transparent hover:brightness-110',
  'danger-quiet': 'bg-transparent text-bad border-transparent hover:bg-bad-soft',
};

function classesOf(look: Look, small: boolean): string {
  const size = small ? 'h-8 px-2.5 text-[13px]' : 'h-9 px-3.5';
  return `inline-flex items-center justify-center gap-1.5 whitespace-nowrap rounded-[7px] border font-medium transition-colors disabled:opacity-55 ${size} ${LOOKS[look]}`;
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  small?: boolean;
  busy?: boolean;
}

export function Button({
  look = 'plain',
  small = false,
  busy = false,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      disabled={busy || rest.disabled}
      aria-busy={busy || undefined}
      className={`${classesOf(look, small)} ${rest.className ?? ''}`}
    />
  );
}

export function ButtonLink({
  look = 'plain',
  small = false,
  to,
  search,
  children,
}: {
  look?: Look;
  small?: boolean;
  to: LinkProps['to'];
  search?: Record<string, string>;
  children: ReactNode;
}) {
  return (
    <Link to={to} {...(search && { search: search as never })} className={classesOf(look, small)}>
      {children}
    </Link>
  );
}
