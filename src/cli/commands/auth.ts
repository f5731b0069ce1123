import type { Command } from 'commander';
import { ENVIRONMENTS } from '../../contract/api-keys.ts';
import { describeCommand, runs } from '../command.ts';
import { Stop } from '../exit.ts';
import type { Host } from '../host.ts';
import type { Session } from '../session.ts';

interface Credentials {
  email?: string;
}

interface InitOptions extends Credentials {
  signup?: boolean;
  name?: string;
  environment?: string;
}

export function initCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'init',
    summary: 'Set up this machine: which gateway, whose account',
    examples: [
      'gw init',
      'gw init --api-url https://gateway.example.com',
      'gw init --api-url https://gateway.example.com --proxy-url https://proxy.example.com',
      'gw init --signup --name Acme --email ada@example.com < password.txt',
    ],
  })
    .option('--signup', 'open a new account instead of logging in')
    .option('--name <name>', 'name of the new account')
    .option('--email <email>', 'e-mail address of the account')
    .option('--environment <environment>', `environment of new keys: ${ENVIRONMENTS.join(' or ')}`);
  return runs<InitOptions>(host, command, init);
}

async function init(opened: Session, options: InitOptions): Promise<void> {
  const { out } = opened;
  const interactive = opened.host.stdin.isTTY === true;
  const environment = ENVIRONMENTS.find((name) => name === (options.environment ?? 'production'));
  if (!environment) {
    throw new Stop('usage', `The environment is ${ENVIRONMENTS.join(' or ')}.`, 'gw init --help');
  }
  const session =
    interactive && !opened.isApiUrlGiven
      ? opened.at(await opened.prompts.text('Address of the gateway', opened.apiUrl))
      : opened;
  const health = await session.take(session.anonymous.call('getHealth'));
  // The token of one gateway must not be shown to another.
  const keepsLogin = session.config.token !== null && session.apiUrl === session.config.api_url;
  session.changeConfig({
    api_url: session.apiUrl,
    ...(!keepsLogin && { token: null }),
    default_environment: environment,
    ...(session.isProxyUrlGiven && { proxy_url: session.proxyUrl }),
  });
  out.done(`Gateway ${health.version} answers at ${session.apiUrl}.`);
  if (!interactive && options.email === undefined && options.signup !== true) {
    out.note(`Wrote ${session.configFile}. Next: ${keepsLogin ? 'gw doctor' : 'gw login'}`);
    return;
  }
  const signsUp = options.signup ?? (options.email === undefined && (await wantsAccount(session)));
  if (signsUp) await signUp(session, options);
  else await logIn(session, options);
  out.note(
    'Next: gw providers add <provider>, then gw keys create --name <name>. Check all of it: gw doctor',
  );
}

async function wantsAccount(session: Session): Promise<boolean> {
  const chosen = await session.prompts.choose('Do you have an account on this gateway?', [
    { value: 'login', label: 'Yes, log me in' },
    { value: 'signup', label: 'No, open one (free, no card)' },
  ]);
  return chosen === 'signup';
}

async function signUp(session: Session, options: InitOptions): Promise<void> {
  const name = options.name ?? (await session.prompts.text('Name of the account'));
  const email = options.email ?? (await session.prompts.text('E-mail'));
  const password = await session.prompts.secret('Password');
  const made = await session.take(session.anonymous.call('signup', { body: { name, email, password } }));
  session.changeConfig({ api_url: session.apiUrl, token: made.token });
  session.out.done(`Opened the account ${made.email} on the plan ${made.plan_tier} and logged in.`);
}

export function loginCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'login',
    summary: 'Log in and keep the token on this machine',
    examples: [
      'gw login',
      'gw login --email ada@example.com',
      'gw login --email ada@example.com < password.txt',
    ],
  }).option('--email <email>', 'e-mail address of the account');
  return runs<Credentials>(host, command, async (session, options) => {
    await logIn(session, options);
  });
}

async function logIn(session: Session, options: Credentials): Promise<void> {
  const email = options.email ?? (await session.prompts.text('E-mail'));
  const password = await session.prompts.secret('Password');
  const answer = await session.take(session.anonymous.call('login', { body: { email, password } }));
  // The token is good at this gateway only, so the two are kept together.
  session.changeConfig({ api_url: session.apiUrl, token: answer.token });
  if (session.json) session.out.json(answer);
  session.out.done(`Logged in as ${answer.email} at ${session.apiUrl} (plan ${answer.plan_tier}).`);
}

export function logoutCommand(host: Host): Command {
  const command = describeCommand({
    usage: 'logout',
    summary: 'Forget the token on this machine',
    detail: 'It is not revoked: wherever else it is kept it stays good until it expires.',
    examples: ['gw logout'],
  });
  return runs<object>(host, command, async (session) => {
    const wasLoggedIn = session.config.token !== null;
    session.changeConfig({ token: null });
    session.out.done(wasLoggedIn ? 'Logged out on this machine.' : 'Nobody was logged in.');
  });
}
