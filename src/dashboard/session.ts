import { ask, isRefusedWith, type Output, queryClient } from './api.ts';

const REFRESH_EVERY_MS = 60 * 60 * 1000;
const LAST_REFRESH = 'gateway.refreshedAt';
const ACCOUNT_KEY = ['getAccount', {}] as const;

export type Account = Output<'getAccount'>;

/** The account whose cookie the browser holds, or null when it holds none that counts. */
export async function currentAccount(): Promise<Account | null> {
  try {
    return await queryClient.ensureQueryData({ queryKey: ACCOUNT_KEY, queryFn: () => ask('getAccount') });
  } catch (error) {
    if (isRefusedWith(error, 401)) return null;
    throw error;
  }
}

export async function logIn(body: { email: string; password: string }): Promise<void> {
  await ask('login', { body });
  begin();
}

export async function signUp(body: { name: string; email: string; password: string }): Promise<void> {
  await ask('signup', { body });
  begin();
}

/** Also when the server cannot be reached: what is on screen must go. */
export async function logOut(): Promise<void> {
  try {
    await ask('logout');
  } finally {
    queryClient.clear();
    location.assign('/login');
  }
}

function begin(): void {
  queryClient.clear();
  noteRefresh();
}

function noteRefresh(): void {
  try {
    localStorage.setItem(LAST_REFRESH, String(Date.now()));
  } catch {
    // Without storage every page load refreshes, which is only a call more.
  }
}

function isDue(): boolean {
  try {
    return Date.now() - Number(localStorage.getItem(LAST_REFRESH) ?? 0) > REFRESH_EVERY_MS;
  } catch {
    return true;
  }
}

/** A session in use never ends under its user: long before the day is over it is exchanged for a new one. */
export function keepSessionFresh(): () => void {
  const refresh = () => {
    if (!isDue()) return;
    ask('refreshToken').then(noteRefresh, () => {
      // The next call that is refused leads to the log-in page by itself.
    });
  };
  refresh();
  const timer = setInterval(refresh, REFRESH_EVERY_MS / 4);
  return () => clearInterval(timer);
}
