import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { MIN_PASSWORD_CHARACTERS } from '../../contract/auth.ts';
import { ask } from '../api.ts';
import { AuthFrame, FormError } from '../ui/AuthFrame.tsx';
import { Button } from '../ui/Button.tsx';
import { Field, formTexts } from '../ui/Field.tsx';
import { useUrlState } from '../url-state.ts';

export function ResetPasswordPage() {
  const [{ token = '' }] = useUrlState();
  const navigate = useNavigate();
  const attempt = useMutation({
    mutationFn: (password: string) => ask('resetPassword', { body: { token, password } }),
    onSuccess: () => navigate({ to: '/login', search: { reset: 'done' } as never }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    attempt.mutate(formTexts(event.currentTarget).password ?? '');
  };
  return (
    <AuthFrame
      title="Choose a new password"
      note="Every session that is open now ends with it."
      below={
        <Link to="/forgot-password" className="text-accent underline-offset-2 hover:underline">
          Ask for another link
        </Link>
      }
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field
          label="New password"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={MIN_PASSWORD_CHARACTERS}
          hint={`At least ${MIN_PASSWORD_CHARACTERS} characters.`}
          required
          autoFocus
        />
        <FormError error={attempt.error} />
        <Button type="submit" look="primary" busy={attempt.isPending}>
          Change password
        </Button>
      </form>
    </AuthFrame>
  );
}
