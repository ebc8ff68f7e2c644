// @dom
import { MantineProvider } from '@mantine/core';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
} from '@tanstack/react-router';
import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RouteError } from './fallback';

let broken = true;

function Page() {
  if (broken) throw new Error('It has no rows.');
  return <p>all rows</p>;
}

describe('a page with an error', () => {
  beforeEach(() => {
    broken = true;
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    vi.stubGlobal('scrollTo', () => undefined);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('keeps the navigation, shows the error, and can be loaded again', async () => {
    const root = createRootRoute({
      component: () => (
        <>
          <nav>Databases</nav>
          <Outlet />
        </>
      ),
    });
    const page = createRoute({ getParentRoute: () => root, path: '/', component: Page });
    const router = createRouter({
      routeTree: root.addChildren([page]),
      history: createMemoryHistory({ initialEntries: ['/'] }),
      defaultErrorComponent: RouteError,
    });
    render(
      <MantineProvider>
        <RouterProvider router={router as never} />
      </MantineProvider>,
    );
    expect(await screen.findByText('It has no rows.')).toBeTruthy();
    expect(screen.getByText('Databases')).toBeTruthy();
    broken = false;
    fireEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByText('all rows')).toBeTruthy();
  });
});
