/** Name, issuer, expiry and fingerprint of a CA. */
import type { AuthorityCertificate } from '@/api/types';
import { Stamp } from '@/ui/Ago';
import { CopyInline } from '@/ui/Copy';
import { Facts } from '@/ui/Facts';

export function AuthorityFacts({ told }: { told: AuthorityCertificate }) {
  return (
    <Facts
      items={[
        ['Name', told.subject],
        ['Signed by', told.external ? told.issuer : 'itself (root CA)'],
        ['Valid until', <Stamp key="until" time={told.valid_until} />],
        ['SHA-256', <CopyInline key="sha256" text={told.fingerprint} label="Copy fingerprint" />],
      ]}
    />
  );
}
