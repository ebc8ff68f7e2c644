// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { fireEvent, render, screen, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SettingsGroups } from './SettingsGroups';
import type { SettingsGroup } from './settingsSearch';

const RULES = {
  drills_enabled: { type: 'boolean', default: false },
  events_keep_days: { type: 'integer', minimum: 0, maximum: 36500, default: 90 },
};
const GROUPS: SettingsGroup[] = [
  { id: 'retention', title: 'Retention', policy: 'retention' },
  { id: 'drills', title: 'Drills', policy: 'drills' },
  {
    id: 'support',
    title: 'Support',
    blocks: [{ title: 'Support bundle', words: 'logs', content: <p>An archive</p> }],
  },
  { id: 'users', title: 'Users and roles' },
];

beforeEach(() => {
  vi.stubGlobal('scrollTo', () => undefined);
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string) => {
      if (path.includes('jsonschema'))
        return Response.json({ properties: path.endsWith('cluster') ? {} : RULES });
      return Response.json(
        path.endsWith('policy') ? { drills_enabled: false, events_keep_days: 30 } : {},
      );
    }),
  );
});
afterEach(() => vi.unstubAllGlobals());

async function show() {
  const root = createRootRoute();
  const page = createRoute({
    getParentRoute: () => root,
    path: 'settings',
    component: () => <SettingsGroups groups={GROUPS} anchor="" may />,
  });
  const router = createRouter({
    routeTree: root.addChildren([page]),
    history: createMemoryHistory({ initialEntries: ['/settings'] }),
  });
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <RouterProvider router={router as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  await screen.findByText('Allow drills');
}

const search = (text: string) =>
  fireEvent.change(screen.getByLabelText('Search settings'), { target: { value: text } });
const listed = () =>
  within(screen.getByRole('navigation', { name: 'Groups of settings' }))
    .queryAllByRole('link')
    .map(({ textContent }) => textContent);

describe('SettingsGroups', () => {
  it('lists the groups with content, and links to them', async () => {
    await show();
    expect(listed()).toEqual(['Retention', 'Drills', 'Support']);
    const link = screen.getByRole('link', { name: 'Drills' });
    expect(link.getAttribute('href')).toBe('#drills');
    expect(document.getElementById('drills')?.textContent).toContain('Allow drills');
  });

  it('shows only matching settings and parts', async () => {
    await show();
    search('logs');
    expect(listed()).toEqual(['Support']);
    expect(screen.queryByText('Allow drills')).toBeNull();
    expect(screen.getByText('An archive')).toBeTruthy();
  });

  it('reports that nothing matches, and shows all settings again', async () => {
    await show();
    search('zebra');
    expect(screen.getByText('No group or setting contains “zebra”.')).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Show all settings' }));
    expect(listed()).toHaveLength(3);
  });

  it('keeps changes of settings that the search hides', async () => {
    await show();
    fireEvent.click(screen.getByLabelText('Allow drills'));
    search('retention');
    expect(screen.queryByLabelText('Allow drills')).toBeNull();
    expect(screen.getByRole('button', { name: /^Save 1\schange$/ })).toBeTruthy();
    search('');
    expect((screen.getByLabelText('Allow drills') as HTMLInputElement).checked).toBe(true);
  });
});
