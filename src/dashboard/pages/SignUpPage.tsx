import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { MIN_PASSWORD_CHARACTERS } from '../../contract/auth.ts';
import { signUp } from '../session.ts';
import { AuthFrame, FormError } from '../ui/AuthFrame.tsx';
import { Button } from '../ui/Button.tsx';
import { Field, formTexts } from '../ui/Field.tsx';

export function SignUpPage() {
  const navigate = useNavigate();
  const attempt = useMutation({ mutationFn: signUp, onSuccess: () => navigate({ to: '/connect' }) });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { name = '', email = '', password = '' } = formTexts(event.currentTarget);
    attempt.mutate({ name, email, password });
  };
  return (
    <AuthFrame
      title="Open an account"
      note="Free: 10,000 metered requests a month, no card."
      below={
        <>
          Have one already?{' '}
          <Link to="/login" className="font-medium text-accent underline underline-offset-2">
            Log in
          </Link>
        </>
      }
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field
          label="Name"
          name="name"
          autoComplete="organization"
          hint="Your own or your company’s."
          required
          autoFocus
        />
        <Field label="E-mail" name="email" type="email" autoComplete="username" required />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={MIN_PASSWORD_CHARACTERS}
          hint={`At least ${MIN_PASSWORD_CHARACTERS} characters.`}
          required
        />
        <FormError error={attempt.error} />
        <Button type="submit" look="primary" busy={attempt.isPending}>
          Open account
        </Button>
      </form>
    </AuthFrame>
  );
}
