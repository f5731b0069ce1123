import { openClient, type Refused } from '../client/client.ts';

/** Everything the demo asks for must be granted; a refusal is a fault in the story. */
export function granted<T>(what: string, answer: { ok: true; data: T } | Refused): T {
  if (answer.ok) return answer.data;
  throw new Error(`${what} was refused: ${answer.status} ${answer.error}: ${answer.message}`);
}

export type Asking = ReturnType<typeof openClient>;

export interface Askers {
  apiUrl: string;
  anyone: Asking;
  operator: Asking;
}

export function openAskers(apiUrl: string, operatorToken: string): Askers {
  return {
    apiUrl,
    anyone: openClient({ baseUrl: apiUrl }),
    operator: openClient({ baseUrl: apiUrl, token: operatorToken }),
  };
}

export function askingAs(askers: Askers, token: string): Asking {
  return openClient({ baseUrl: askers.apiUrl, token });
}
