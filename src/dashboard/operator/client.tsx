import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { type Client, openClient } from '../../client/client.ts';
import type { OperationName } from '../../contract/index.ts';
import { type Input, type Output, RefusedCall } from '../api.ts';
import { showToast } from '../ui/Toast.tsx';

/** The operator's token lives in this page's memory and nowhere else: reloading the page forgets it. */
export function openOperatorClient(token: string): Client {
  return openClient({
    baseUrl: location.origin,
    token,
    fetch: (input, init) => fetch(input, { ...init, credentials: 'omit' }),
  });
}

export const OperatorClient = createContext<Client | null>(null);

export async function askAs<Name extends OperationName>(
  client: Client,
  name: Name,
  input?: Input<Name>,
): Promise<Output<Name>> {
  const result = await client.call(name, ...([input] as never));
  if (!result.ok) throw new RefusedCall(result);
  return result.data as Output<Name>;
}

export function useOperator<Name extends OperationName>(
  name: Name,
  input?: Input<Name>,
  extras: { refetchInterval?: number } = {},
) {
  const client = useContext(OperatorClient)!;
  return useQuery<Output<Name>, Error>({
    queryKey: ['operator', name, input ?? {}],
    queryFn: () => askAs(client, name, input),
    placeholderData: (before) => before,
    ...extras,
  });
}

/** Operators change little and look at much: after a change everything they see is asked for again. */
export function useOperatorAction<Name extends OperationName>(
  name: Name,
  done: string | ((output: Output<Name>) => string),
) {
  const client = useContext(OperatorClient)!;
  const queries = useQueryClient();
  return useMutation<Output<Name>, Error, Input<Name>>({
    mutationFn: (input) => askAs(client, name, input),
    onSuccess: async (output) => {
      showToast(typeof done === 'function' ? done(output) : done);
      await queries.invalidateQueries({ queryKey: ['operator'] });
    },
    onError: (error) => showToast(error.message, 'bad'),
  });
}
