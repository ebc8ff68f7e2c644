// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { PolicyEditor, PolicySection } from './PolicyEditor';
import { SECTIONS } from './policies';

const RULES = {
  drills_enabled: { type: 'boolean', default: false },
  resharding_pace: { type: 'string', enum: ['gentle', 'fast'], default: 'gentle' },
  events_keep_days: { type: 'integer', minimum: 0, maximum: 36500, default: 90 },
};
const OF_CLUSTER = {
  smtp_host: {
    type: 'string',
    pattern: '^(?:[a-z.]*)$',
    description: 'a host name',
    maxLength: 254,
    default: '',
  },
};
const POLICY = { drills_enabled: false, resharding_pace: 'gentle', events_keep_days: 30 };

let sent: [string, string, unknown][];
let rejection: string | null;
let rejectedPath: string | null;
let stored: Record<string, unknown>;

function answer(path: string, init: RequestInit = {}): Response {
  if (init.method === 'PUT') {
    sent.push([init.method, path, init.body ? JSON.parse(String(init.body)) : undefined]);
    if (rejection && (!rejectedPath || rejectedPath === path))
      return Response.json({ description: rejection }, { status: 400 });
    Object.assign(stored, sent.at(-1)?.[2]);
  }
  if (path.includes('jsonschema')) {
    return Response.json({ properties: path.endsWith('cluster') ? OF_CLUSTER : RULES });
  }
  return Response.json(path.endsWith('policy') ? stored : { smtp_host: '' });
}

beforeEach(() => {
  sent = [];
  rejection = null;
  rejectedPath = null;
  stored = { ...POLICY };
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string, init: RequestInit) => answer(path, init)),
  );
});

async function show(may = true) {
  render(
    <MantineProvider>
      <QueryClientProvider
        client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}
      >
        <PolicyEditor may={may}>
          {SECTIONS.map((section) => (
            <PolicySection key={section.title} {...section} />
          ))}
        </PolicyEditor>
      </QueryClientProvider>
    </MantineProvider>,
  );
  await screen.findByText('Allow drills');
}

const days = () => screen.getByLabelText('Events');

describe('PolicyEditor', () => {
  it('shows the settings that the console has, and the defaults of changed ones', async () => {
    await show();
    expect(screen.queryByText('Canary writes per second')).toBeNull();
    expect(screen.getByText(/default: 90 days/)).toBeTruthy();
  });

  it('saves only changed settings', async () => {
    await show();
    fireEvent.click(screen.getByLabelText('Allow drills'));
    fireEvent.change(screen.getByLabelText('Resharding pace'), { target: { value: 'fast' } });
    fireEvent.click(screen.getByRole('button', { name: /^Save 2\schanges$/ }));
    await waitFor(() => expect(sent).toHaveLength(1));
    expect(sent[0]).toEqual([
      'PUT',
      '/v1/cluster/policy',
      { drills_enabled: true, resharding_pace: 'fast' },
    ]);
  });

  it('saves policy and cluster settings with separate requests', async () => {
    await show();
    const host = screen.getByLabelText('Host');
    fireEvent.change(host, { target: { value: 'mail example' } });
    expect(screen.getByText('Must be a host name')).toBeTruthy();
    fireEvent.change(host, { target: { value: 'mail.example' } });
    fireEvent.click(screen.getByLabelText('Allow drills'));
    fireEvent.click(screen.getByRole('button', { name: /^Save 2\schanges$/ }));
    await waitFor(() => expect(sent).toHaveLength(2));
    expect(sent).toEqual([
      ['PUT', '/v1/cluster/policy', { drills_enabled: true }],
      ['PUT', '/v1/cluster', { smtp_host: 'mail.example' }],
    ]);
  });

  it('shows conflicting changes of another user and saves the chosen value', async () => {
    await show();
    fireEvent.change(days(), { target: { value: '7' } });
    stored = { ...POLICY, events_keep_days: 60 };
    const save = () => fireEvent.click(screen.getByRole('button', { name: /^Save 1\schange$/ }));
    save();
    const alert = await screen.findByRole('alert');
    expect(alert.textContent).toContain(
      'Events: changed from 30 days to 60 days; your value is 7 days.',
    );
    expect(sent).toEqual([]);
    fireEvent.click(screen.getByRole('button', { name: 'Use my values' }));
    save();
    await waitFor(() => expect(sent).toHaveLength(1));
    expect(sent[0]?.[2]).toEqual({ events_keep_days: 7 });
  });

  it('resets a setting to its default', async () => {
    await show();
    fireEvent.click(screen.getByRole('button', { name: 'Events: reset to default' }));
    fireEvent.click(screen.getByRole('button', { name: /^Save 1\schange$/ }));
    await waitFor(() => expect(sent).toHaveLength(1));
    expect(sent[0]?.[2]).toEqual({ events_keep_days: 90 });
  });

  it('does not save a value outside the range', async () => {
    await show();
    fireEvent.change(days(), { target: { value: '36501' } });
    fireEvent.blur(days());
    expect(screen.getByText('Enter a whole number from 0 to 36500')).toBeTruthy();
    expect(screen.getByRole('button', { name: /^Save/ }).hasAttribute('disabled')).toBe(true);
    fireEvent.click(screen.getByRole('button', { name: 'Discard' }));
    expect(screen.queryByText(/Enter a whole number/)).toBeNull();
  });

  it('shows why the console refused a change, and keeps the entered value', async () => {
    rejection = 'drills_enabled must be true or false';
    await show();
    fireEvent.click(screen.getByLabelText('Allow drills'));
    fireEvent.click(screen.getByRole('button', { name: /^Save 1\schange$/ }));
    expect((await screen.findByRole('alert')).textContent).toBe(rejection);
    expect((screen.getByLabelText('Allow drills') as HTMLInputElement).checked).toBe(true);
  });

  it('treats a stored change as its own if the second request is refused', async () => {
    await show();
    fireEvent.change(screen.getByLabelText('Host'), { target: { value: 'mail.example' } });
    fireEvent.change(days(), { target: { value: '7' } });
    rejection = 'Not this host.';
    rejectedPath = '/v1/cluster';
    fireEvent.click(screen.getByRole('button', { name: /^Save 2\schanges$/ }));
    expect((await screen.findByRole('alert')).textContent).toBe(rejection);
    expect(sent.map(([, path]) => path)).toEqual(['/v1/cluster/policy', '/v1/cluster']);
    rejection = null;
    fireEvent.change(days(), { target: { value: '8' } });
    fireEvent.click(screen.getByRole('button', { name: /^Save 2\schanges$/ }));
    await waitFor(() => expect(sent).toHaveLength(4));
    expect(sent[2]?.[2]).toEqual({ events_keep_days: 8 });
  });

  it('resets all settings after confirmation and saves no other change', async () => {
    await show();
    fireEvent.click(screen.getByLabelText('Allow drills'));
    fireEvent.click(screen.getByRole('button', { name: 'Reset all to defaults…' }));
    fireEvent.click(await screen.findByRole('button', { name: 'Reset all' }));
    await waitFor(() => expect(sent).toHaveLength(1));
    expect(sent[0]).toEqual(['PUT', '/v1/cluster/policy/restore_default', undefined]);
  });

  it('is read-only for roles without the permission', async () => {
    await show(false);
    expect((screen.getByLabelText('Allow drills') as HTMLInputElement).disabled).toBe(true);
    expect(screen.queryByRole('button', { name: /Save/ })).toBeNull();
  });
});
