import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useApi } from '../api.ts';
import { useIsAway } from '../connection.ts';
import { VERSION } from '../place.ts';
import { keepSessionFresh, logOut } from '../session.ts';
import { Button } from './Button.tsx';
import { Icon } from './Icon.tsx';
import { Navigation } from './Navigation.tsx';
import { ThemeSwitch, ZoneSwitch } from './Switches.tsx';

export function Wordmark() {
  return (
    <span className="flex items-center gap-2 font-semibold tracking-tight">
      <img src="/icon.svg" alt="" className="size-6" />
      Gateway
    </span>
  );
}

function Footer() {
  const account = useApi('getAccount');
  return (
    <div className="flex flex-col gap-2 border-t border-line pt-3">
      <ZoneSwitch />
      <ThemeSwitch />
      <div className="flex items-center justify-between gap-2 pl-1">
        <p className="min-w-0 truncate text-[13px] text-muted" title={account.data?.email}>
          {account.data?.name ?? '…'}
        </p>
        <Button small look="quiet" onClick={() => logOut()}>
          Log out
        </Button>
      </div>
      <p className="pl-1 text-[12px] text-faint">
        <a href="/docs" className="underline-offset-2 hover:underline">
          API docs
        </a>{' '}
        · version {VERSION}
      </p>
    </div>
  );
}

/** On narrow screens the navigation is a modal panel of the browser's own. */
function NarrowBar() {
  const panel = useRef<HTMLDialogElement>(null);
  const close = () => panel.current?.close();
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: going to another page closes the panel
  useEffect(close, [pathname]);
  return (
    <header className="sticky top-0 z-20 flex h-12 items-center justify-between border-b border-line bg-surface px-3 lg:hidden">
      <Link to="/" aria-label="Gateway, overview">
        <Wordmark />
      </Link>
      <Button small look="quiet" aria-label="Open navigation" onClick={() => panel.current?.showModal()}>
        <Icon name="menu" />
      </Button>
      <dialog
        ref={panel}
        aria-label="Navigation"
        className="m-0 ml-auto h-dvh max-h-none w-72 max-w-[85vw] border-l border-line bg-surface p-3 text-ink"
      >
        <div className="flex justify-end">
          <Button small look="quiet" aria-label="Close navigation" onClick={close}>
            <Icon name="close" />
          </Button>
        </div>
        <Navigation onGo={close} />
        <div className="mt-4">
          <Footer />
        </div>
      </dialog>
    </header>
  );
}

function AwayBanner() {
  const isAway = useIsAway();
  return (
    <div role="status">
      {isAway && (
        <p className="border-b border-line bg-warn-soft px-4 py-2 text-warn sm:px-6">
          The gateway does not answer. What you see may be out of date; it is asked again by itself.
        </p>
      )}
    </div>
  );
}

/** The frame around every page of somebody who is logged in. */
export function Shell() {
  const [isWide, setWide] = useState(() => matchMedia('(min-width: 64rem)').matches);
  useEffect(() => {
    const query = matchMedia('(min-width: 64rem)');
    const follow = () => setWide(query.matches);
    query.addEventListener('change', follow);
    return () => query.removeEventListener('change', follow);
  }, []);
  useEffect(keepSessionFresh, []);
  return (
    <div className="lg:grid lg:grid-cols-[14.5rem_1fr]">
      <a
        href="#content"
        className="fixed top-2 left-2 z-50 -translate-y-16 rounded-md bg-accent-strong px-3 py-2 text-white focus:translate-y-0"
      >
        Skip to content
      </a>
      {isWide ? (
        <aside className="border-r border-line bg-surface">
          <div className="sticky top-0 flex h-dvh flex-col gap-4 overflow-y-auto p-3">
            <Link to="/" className="px-2.5 pt-1.5" aria-label="Gateway, overview">
              <Wordmark />
            </Link>
            <div className="flex-1">
              <Navigation />
            </div>
            <Footer />
          </div>
        </aside>
      ) : (
        <NarrowBar />
      )}
      <main id="content" tabIndex={-1} className="min-w-0 outline-none">
        <AwayBanner />
        <Outlet />
      </main>
    </div>
  );
}
