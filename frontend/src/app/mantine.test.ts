import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const STYLES = 'node_modules/@mantine/core/styles/';
const sources = import.meta.glob<string>('/src/**/*.tsx', {
  query: '?raw',
  import: 'default',
  eager: true,
});

it('includes the styles of all components in use', () => {
  const root = new URL('../../../', import.meta.url);
  const styled = new Set(readdirSync(new URL(STYLES, root)));
  const loaded = readFileSync(new URL('frontend/src/app/mantine.css', root), 'utf8');
  const used = Object.values(sources)
    .flatMap((text) => [...text.matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)])
    .flatMap(([, names = '']) => names.match(/\b[A-Z]\w*/g) ?? []);
  expect(used).toContain('Modal');
  const without = used.filter(
    (name) => styled.has(`${name}.layer.css`) && !loaded.includes(`/${name}.layer.css`),
  );
  expect([...new Set(without)]).toEqual([]);
});
