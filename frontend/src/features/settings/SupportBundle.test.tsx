// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SupportBundle } from './SupportBundle';

const answered = vi.fn();
const downloads: string[] = [];

beforeEach(() => {
  downloads.length = 0;
  vi.stubGlobal('fetch', answered);
  vi.stubGlobal('URL', { createObjectURL: () => 'blob:it', revokeObjectURL: () => undefined });
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (
    this: HTMLAnchorElement,
  ) {
    downloads.push(this.download);
  });
});
afterEach(() => {
  answered.mockReset();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const show = (may = true) =>
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <SupportBundle may={may} />
      </QueryClientProvider>
    </MantineProvider>,
  );
const button = () => screen.getByRole('button', { name: 'Download support bundle' });

describe('SupportBundle', () => {
  it('shows the progress and downloads the bundle under its file name', async () => {
    let answer: (response: Response) => void = () => undefined;
    answered.mockReturnValue(
      new Promise<Response>((resolve) => {
        answer = resolve;
      }),
    );
    show();
    fireEvent.click(button());
    await screen.findByText(/Collecting data from all machines/);
    const headers = { 'Content-Disposition': 'attachment; filename="shardboard-cluster.tar.gz"' };
    answer(new Response('bytes', { headers }));
    await waitFor(() => expect(downloads).toEqual(['shardboard-cluster.tar.gz']));
    expect(screen.queryByText(/Collecting data from all machines/)).toBeNull();
  });

  it('shows why no bundle could be created', async () => {
    const rejection = {
      error_code: 'busy',
      description: 'Another support bundle is being created.',
    };
    answered.mockResolvedValue(Response.json(rejection, { status: 409 }));
    show();
    fireEvent.click(button());
    await screen.findByText(/is being created/);
    expect(downloads).toEqual([]);
  });

  it('is disabled for roles without the permission', () => {
    show(false);
    expect(button().hasAttribute('disabled')).toBe(true);
  });
});
