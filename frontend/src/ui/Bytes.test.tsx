// @dom
import { render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { Bytes } from './Bytes';

it('shows a binary unit, and the exact number of bytes on hover', () => {
  render(<Bytes value={1_932_735_283} />);
  const size = screen.getByText(/1.8\sGiB/);
  expect(size.title.replaceAll('\u00a0', ' ')).toBe('1,932,735,283 B');
});
