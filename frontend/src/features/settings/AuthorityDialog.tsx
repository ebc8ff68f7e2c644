/** Dialogs for replacing the console CA. */
import { Alert, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { certificatesQuery } from '@/api/certificates';
import {
  announceAuthority,
  authorityQuery,
  checkAuthority,
  requestAuthority,
  switchAuthority,
  withdrawAuthority,
} from '@/api/consoleAuthority';
import type { AuthorityCertificate, ConsoleAuthority } from '@/api/types';
import { useThenAskAgain } from '@/api/useThenAskAgain';
import { Ask } from '@/ui/Ask';
import { AuthorityFacts } from './AuthorityFacts';
import { PemField } from './PemField';

/** A certificate (PEM) for the pending signing request, and its parsed fields. */
export interface Checked {
  certificate: string;
  told: AuthorityCertificate;
}
export type Order = 'replace' | 'request' | 'signed' | 'switch' | 'withdraw';

interface Props {
  order: Order;
  told: ConsoleAuthority;
  onChecked: (checked: Checked) => void;
  onClose: () => void;
}

export function AuthorityDialog({ order, told, onChecked, onClose }: Props) {
  const then = useThenAskAgain(authorityQuery, certificatesQuery);
  switch (order) {
    case 'request':
      return <AskForNames onClose={onClose} />;
    case 'signed':
      return <AskForCertificate onChecked={onChecked} onClose={onClose} />;
    case 'switch':
      return <AskToSwitch onClose={onClose} />;
    case 'withdraw':
      return (
        <Ask
          title={told.request ? 'Withdraw the signing request?' : 'Withdraw the next CA?'}
          action="Withdraw"
          severe
          onConfirm={() => then(withdrawAuthority())}
          onClose={onClose}
        >
          <span>
            {told.request
              ? 'The key of the request is deleted. A certificate that is signed for it can no longer be used.'
              : 'The key of the next CA is deleted, and agents trust only the current CA. You can remove the next CA from clients.'}
          </span>
        </Ask>
      );
    case 'replace':
      return (
        <Ask
          title="Replace the console CA?"
          action="Announce new CA"
          onConfirm={() => then(announceAuthority())}
          onClose={onClose}
        >
          <span>
            The console creates a new CA, which agents trust in addition to the current one. Nothing
            else changes until you switch to it. Before you switch, distribute the CA bundle to
            browsers and to clients of endpoints with TLS.
          </span>
        </Ask>
      );
  }
}

function AskToSwitch({ onClose }: { onClose: () => void }) {
  const then = useThenAskAgain(authorityQuery, certificatesQuery);
  const source = useQuery(certificatesQuery).data?.console.source;
  return (
    <Ask
      title="Switch to the next CA?"
      action="Switch"
      severe
      onConfirm={() => then(switchAuthority())}
      onClose={onClose}
    >
      <span>
        From the next connection on, the console, its agents and their endpoints serve certificates
        of the next CA; open connections stay open. Clients that do not trust the next CA can no
        longer connect. Join tokens that were created earlier become invalid. The previous CA is
        removed automatically.
      </span>
      {source === 'own' && (
        <Alert color="yellow">
          The web UI also uses a certificate of this CA. If your browser does not trust the next CA,
          the web UI stops responding: reload it.
        </Alert>
      )}
    </Ask>
  );
}

function AskForNames({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [organization, setOrganization] = useState('');
  const then = useThenAskAgain(authorityQuery);
  return (
    <Ask
      title="Have an external CA sign the console CA"
      action="Create request"
      onConfirm={() =>
        then(requestAuthority({ common_name: name.trim(), organization: organization.trim() }))
      }
      onClose={onClose}
    >
      <span>
        Clients that trust the external CA then trust endpoints and the web UI. Agents continue to
        trust only the console CA, so other certificates of the external CA give no access. The key
        stays in the console’s state directory.
      </span>
      <TextInput
        label="Name"
        description="Common name of the CA. If empty, the console generates a unique name."
        maxLength={64}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <TextInput
        label="Organization"
        description="Optional."
        maxLength={64}
        value={organization}
        onChange={(event) => setOrganization(event.currentTarget.value)}
      />
    </Ask>
  );
}

/** Takes a signed certificate and checks it, so that its fields are shown before it is announced. */
function AskForCertificate({ onChecked, onClose }: Pick<Props, 'onChecked' | 'onClose'>) {
  const [certificate, setCertificate] = useState('');
  return (
    <Ask
      title="Enter certificate"
      action="Check certificate"
      size="lg"
      disabled={!certificate.trim()}
      onConfirm={async () => onChecked({ certificate, told: await checkAuthority(certificate) })}
      onClose={onClose}
    >
      <PemField
        label="Certificate chain (PEM)"
        description="Enter the signed certificate first, then the certificates of the CAs above it, preferably including the root."
        value={certificate}
        onChange={setCertificate}
      />
    </Ask>
  );
}

interface AnnounceProps {
  checked: Checked;
  onClose: () => void;
}

export function AskToAnnounce({ checked, onClose }: AnnounceProps) {
  const then = useThenAskAgain(authorityQuery);
  return (
    <Ask
      title="Announce this CA?"
      action="Announce CA"
      size="lg"
      onConfirm={() => then(announceAuthority(checked.certificate))}
      onClose={onClose}
    >
      <AuthorityFacts told={checked.told} />
      {!checked.told.root_known && (
        <Alert color="yellow">
          The root CA is not among the certificates. Clients that already trust it are not affected,
          but other clients cannot use the CA bundle without it. Add the root certificate if
          possible.
        </Alert>
      )}
      <span>
        Agents trust this CA in addition to the current one. Nothing else changes until you switch
        to it.
      </span>
    </Ask>
  );
}
