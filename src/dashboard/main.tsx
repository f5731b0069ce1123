import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { isRefusedWith, queryClient } from './api.ts';
import './app.css';
import { applyTheme } from './preferences.ts';
import { router } from './routes.tsx';

applyTheme();

/** A session that ended elsewhere: the next refused call leads back to the log-in, and from there to this page. */
queryClient.getQueryCache().subscribe(({ type, query }) => {
  const { error } = query.state;
  if (type !== 'updated' || !isRefusedWith(error, 401) || query.queryKey[0] === 'operator') return;
  queryClient.removeQueries({ queryKey: ['getAccount'] });
  const { pathname, href } = router.state.location;
  if (pathname !== '/login') router.navigate({ to: '/login', search: { next: href } as never });
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
