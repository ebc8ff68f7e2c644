/** Dialogs for replacing the console CA. */
import { Alert, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { certificatesQuery } from '@/api/cluster/certificates';
import {
  announceCa,
  checkCaCertificate,
  consoleCaQuery,
  createSigningRequest,
  switchToNextCa,
  withdrawNextCa,
} from '@/api/cluster/consoleCa';
import type { CaCertificate, ConsoleCa } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { PemField } from '../PemField';
import { CaFacts } from './CaFacts';

/** A certificate (PEM) for the pending signing request, and its parsed fields. */
export interface CheckedCertificate {
  certificate: string;
  ca: CaCertificate;
}
export type CaOperation = 'replace' | 'request' | 'signed' | 'switch' | 'withdraw';

interface Props {
  operation: CaOperation;
  ca: ConsoleCa;
  onChecked: (checked: CheckedCertificate) => void;
  onClose: () => void;
}

export function CaDialog({ operation, ca, onChecked, onClose }: Props) {
  const invalidateAfter = useInvalidateAfter(consoleCaQuery, certificatesQuery);
  switch (operation) {
    case 'request':
      return <SigningRequestDialog onClose={onClose} />;
    case 'signed':
      return <SignedCertificateDialog onChecked={onChecked} onClose={onClose} />;
    case 'switch':
      return <SwitchCaDialog onClose={onClose} />;
    case 'withdraw':
      return (
        <SubmitDialog
          title={ca.request ? 'Withdraw the signing request?' : 'Withdraw the next CA?'}
          action="Withdraw"
          severe
          onConfirm={() => invalidateAfter(withdrawNextCa())}
          onClose={onClose}
        >
          <span>
            {ca.request
              ? 'The key of the request is deleted. A certificate that is signed for it can no longer be used.'
              : 'The key of the next CA is deleted, and agents trust only the current CA. You can remove the next CA from clients.'}
          </span>
        </SubmitDialog>
      );
    case 'replace':
      return (
        <SubmitDialog
          title="Replace the console CA?"
          action="Announce new CA"
          onConfirm={() => invalidateAfter(announceCa())}
          onClose={onClose}
        >
          <span>
            The console creates a new CA, which agents trust in addition to the current one. Nothing
            else changes until you switch to it. Before you switch, distribute the CA bundle to
            browsers and to clients of endpoints with TLS.
          </span>
        </SubmitDialog>
      );
  }
}

function SwitchCaDialog({ onClose }: { onClose: () => void }) {
  const invalidateAfter = useInvalidateAfter(consoleCaQuery, certificatesQuery);
  const source = useQuery(certificatesQuery).data?.console.source;
  return (
    <SubmitDialog
      title="Switch to the next CA?"
      action="Switch"
      severe
      onConfirm={() => invalidateAfter(switchToNextCa())}
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
    </SubmitDialog>
  );
}

function SigningRequestDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [organization, setOrganization] = useState('');
  const invalidateAfter = useInvalidateAfter(consoleCaQuery);
  return (
    <SubmitDialog
      title="Have an external CA sign the console CA"
      action="Create request"
      onConfirm={() =>
        invalidateAfter(
          createSigningRequest({ common_name: name.trim(), organization: organization.trim() }),
        )
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
    </SubmitDialog>
  );
}

/** Takes a signed certificate and checks it, so that its fields are shown before it is announced. */
function SignedCertificateDialog({ onChecked, onClose }: Pick<Props, 'onChecked' | 'onClose'>) {
  const [certificate, setCertificate] = useState('');
  return (
    <SubmitDialog
      title="Enter certificate"
      action="Check certificate"
      size="lg"
      disabled={!certificate.trim()}
      onConfirm={async () => onChecked({ certificate, ca: await checkCaCertificate(certificate) })}
      onClose={onClose}
    >
      <PemField
        label="Certificate chain (PEM)"
        description="Enter the signed certificate first, then the certificates of the CAs above it, preferably including the root."
        value={certificate}
        onChange={setCertificate}
      />
    </SubmitDialog>
  );
}

interface AnnounceProps {
  checked: CheckedCertificate;
  onClose: () => void;
}

export function AnnounceCaDialog({ checked, onClose }: AnnounceProps) {
  const invalidateAfter = useInvalidateAfter(consoleCaQuery);
  return (
    <SubmitDialog
      title="Announce this CA?"
      action="Announce CA"
      size="lg"
      onConfirm={() => invalidateAfter(announceCa(checked.certificate))}
      onClose={onClose}
    >
      <CaFacts ca={checked.ca} />
      {!checked.ca.root_known && (
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
    </SubmitDialog>
  );
}
