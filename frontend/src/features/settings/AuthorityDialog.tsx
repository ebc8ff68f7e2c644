/** What is asked before the console's authority changes. */
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

/** A certificate (PEM) for the open request, and what it says. */
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
          title={told.request ? 'Withdraw the request?' : 'Withdraw the next authority?'}
          action="Withdraw"
          severe
          onConfirm={() => then(withdrawAuthority())}
          onClose={onClose}
        >
          <span>
            {told.request
              ? 'Its key is deleted: a certificate for it is of no use any more.'
              : 'Its key is deleted, and agents trust the present authority only. Clients that were given it need it no more.'}
          </span>
        </Ask>
      );
    case 'replace':
      return (
        <Ask
          title="Replace the console’s authority?"
          action="Announce a new one"
          onConfirm={() => then(announceAuthority())}
          onClose={onClose}
        >
          <span>
            A new one is made, and agents trust it beside the present one. Nothing else changes
            before you order the second step: first give it to clients of endpoints with TLS, and to
            browsers.
          </span>
        </Ask>
      );
  }
}

function AskToSwitch({ onClose }: { onClose: () => void }) {
  const then = useThenAskAgain(authorityQuery, certificatesQuery);
  const shown = useQuery(certificatesQuery).data?.console.source;
  return (
    <Ask
      title="Change over to the next authority?"
      action="Change over"
      severe
      onConfirm={() => then(switchAuthority())}
      onClose={onClose}
    >
      <span>
        From the next connection on the console, its agents and their endpoints show certificates of
        it; open connections stay. Clients that do not trust it are turned away. Join tokens that
        were made before are not good any more. The former one is forgotten by itself.
      </span>
      {shown === 'own' && (
        <Alert color="yellow">
          This page shows a certificate of the authority, too. If your browser does not trust the
          next one, the page stops answering: load it again.
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
      title="Have another authority sign the console’s"
      action="Make a request"
      onConfirm={() =>
        then(requestAuthority({ common_name: name.trim(), organization: organization.trim() }))
      }
      onClose={onClose}
    >
      <span>
        Clients that trust that authority then trust endpoints and this page. Agents go on trusting
        the console’s alone: what else that authority signs opens nothing. The key stays in the
        console’s state directory.
      </span>
      <TextInput
        label="Name"
        description="Common name of the authority; without one it gets a name that no other has."
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

/** Enter it first; what it says is seen before it counts. */
function AskForCertificate({ onChecked, onClose }: Pick<Props, 'onChecked' | 'onClose'>) {
  const [certificate, setCertificate] = useState('');
  return (
    <Ask
      title="Enter the certificate"
      action="Check…"
      size="lg"
      disabled={!certificate.trim()}
      onConfirm={async () => onChecked({ certificate, told: await checkAuthority(certificate) })}
      onClose={onClose}
    >
      <PemField
        label="Certificate and those above it (PEM)"
        description="The one for the request first, then those that signed it, one after another, best with the root."
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
      title="Announce this authority?"
      action="Announce it"
      size="lg"
      onConfirm={() => then(announceAuthority(checked.certificate))}
      onClose={onClose}
    >
      <AuthorityFacts told={checked.told} />
      {!checked.told.root_known && (
        <Alert color="yellow">
          The topmost authority is not among the certificates. Clients that trust it already are
          fine; what others download here will not do for them. Better enter it, too.
        </Alert>
      )}
      <span>
        Agents trust it beside the present one. Nothing else changes before you order the second
        step.
      </span>
    </Ask>
  );
}
