import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { logIn } from '../session.ts';
import { AuthFrame, FormError } from '../ui/AuthFrame.tsx';
import { Button } from '../ui/Button.tsx';
import { Field, formTexts } from '../ui/Field.tsx';
import { useUrlState } from '../url-state.ts';

/** Only a path of our own: an address from elsewhere must not be able to send people on. */
function safeNext(next: string | undefined): string {
  return next && /^\/(?![/\\])/.test(next) ? next : '/';
}

export function LogInPage() {
  const [{ next, reset }] = useUrlState();
  const navigate = useNavigate();
  const attempt = useMutation({ mutationFn: logIn, onSuccess: () => navigate({ href: safeNext(next) }) });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { email = '', password = '' } = formTexts(event.currentTarget);
    attempt.mutate({ email, password });
  };
  return (
    <AuthFrame
      title="Log in"
      note={reset ? 'Your password is changed. Log in with the new one.' : undefined}
      below={
        <>
          New here?{' '}
          <Link to="/signup" className="font-medium text-accent underline underline-offset-2">
            Open an account
          </Link>{' '}
          ·{' '}
          <Link to="/cost-index" className="text-accent underline underline-offset-2">
            Public cost index
          </Link>
        </>
      }
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label="E-mail" name="email" type="email" autoComplete="username" required autoFocus />
        <Field label="Password" name="password" type="password" autoComplete="current-password" required />
        <FormError error={attempt.error} />
        <Button type="submit" look="primary" busy={attempt.isPending}>
          Log in
        </Button>
        <Link
          to="/forgot-password"
          className="text-center text-[13px] text-muted underline-offset-2 hover:underline"
        >
          Forgot your password?
        </Link>
      </form>
    </AuthFrame>
  );
}
