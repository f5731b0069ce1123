import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { ask } from '../api.ts';
import { AuthFrame, FormError } from '../ui/AuthFrame.tsx';
import { Button } from '../ui/Button.tsx';
import { Field, formTexts } from '../ui/Field.tsx';

export function ForgotPasswordPage() {
  const attempt = useMutation({ mutationFn: (email: string) => ask('forgotPassword', { body: { email } }) });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    attempt.mutate(formTexts(event.currentTarget).email ?? '');
  };
  return (
    <AuthFrame
      title="Reset your password"
      note="We mail you a link that is good for one hour."
      below={
        <Link to="/login" className="text-accent underline-offset-2 hover:underline">
          Back to log-in
        </Link>
      }
    >
      {attempt.data ? (
        <p role="status" className="rounded-lg bg-good-soft px-3 py-2 text-good">
          {attempt.data.message}
        </p>
      ) : (
        <form onSubmit={submit} className="flex flex-col gap-4">
          <Field label="E-mail" name="email" type="email" autoComplete="username" required autoFocus />
          <FormError error={attempt.error} />
          <Button type="submit" look="primary" busy={attempt.isPending}>
            Send the link
          </Button>
        </form>
      )}
    </AuthFrame>
  );
}
