import { hash, verify } from '@node-rs/argon2';

/** Argon2id, the package's default variant, at the cost OWASP recommends: some 15 ms of one core. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Node's four worker threads also write the journal, so log-ins may never take them all. */
const MAX_AT_ONCE = 2;
/** About half a second of work; whoever comes later is sent away instead of waiting for ever. */
const MAX_WAITING = 64;
/** Of a password nobody has, at the same cost: an unknown account must take as long as a wrong password. */
const NOBODYS_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$noo6CvoygZDKsimPRznl+A$Ug1ln4xEQoZcrmYT1kD4fJvO+UiaiCSo/VI562AfmPQ';

let working = 0;
const waiting: Array<() => void> = [];

/** 'busy' when too many already wait. */
export async function hashPassword(password: string): Promise<{ hash: string } | 'busy'> {
  return inTurn(async () => ({ hash: await hash(password, COST) }));
}

/** Does the same work for an account that does not exist (null) as for one that does. */
export async function verifyPassword(
  passwordHash: string | null,
  password: string,
): Promise<'match' | 'mismatch' | 'busy'> {
  return inTurn(async () => {
    const matches = await verify(passwordHash ?? NOBODYS_HASH, password);
    return matches && passwordHash !== null ? 'match' : 'mismatch';
  });
}

async function inTurn<T>(work: () => Promise<T>): Promise<T | 'busy'> {
  if (working >= MAX_AT_ONCE) {
    if (waiting.length >= MAX_WAITING) return 'busy';
    // Woken by whoever finishes, who hands its turn over: `working` does not change.
    await new Promise<void>((resolve) => waiting.push(resolve));
  } else {
    working += 1;
  }
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else working -= 1;
  }
}
