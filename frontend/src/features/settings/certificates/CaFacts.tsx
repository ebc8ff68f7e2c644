/** Name, issuer, expiry and fingerprint of a CA. */
import type { CaCertificate } from '@/api/types';
import { Stamp } from '@/ui/Ago';
import { CopyInline } from '@/ui/Copy';
import { Facts } from '@/ui/Facts';

export function CaFacts({ ca }: { ca: CaCertificate }) {
  return (
    <Facts
      items={[
        ['Name', ca.subject],
        ['Signed by', ca.external ? ca.issuer : 'itself (root CA)'],
        ['Valid until', <Stamp key="until" time={ca.valid_until} />],
        ['SHA-256', <CopyInline key="sha256" text={ca.fingerprint} label="Copy fingerprint" />],
      ]}
    />
  );
}
