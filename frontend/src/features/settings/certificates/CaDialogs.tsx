/** Dialogs for replacing the console CA. */
import { Alert, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
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
import { FormDialog } from '@/ui/forms/FormDialog';
import { PemField } from '@/ui/forms/PemField';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { useForm } from '@/ui/forms/useForm';
import { CaFacts } from './CaFacts';
import { type ConfirmedOperation, confirmationOf } from './caConfirmations';

/** A certificate (PEM) for the pending signing request, and its parsed fields. */
export interface CheckedCertificate {
  certificate: string;
  ca: CaCertificate;
}
export type CaOperation = ConfirmedOperation | 'request' | 'signed';

interface Props {
  operation: CaOperation;
  ca: ConsoleCa;
  onChecked: (checked: CheckedCertificate) => void;
  onClose: () => void;
}

export function CaDialog({ operation, ca, onChecked, onClose }: Props) {
  switch (operation) {
    case 'request':
      return <SigningRequestDialog onClose={onClose} />;
    case 'signed':
      return <SignedCertificateDialog onChecked={onChecked} onClose={onClose} />;
    default:
      return <ConfirmationDialog operation={operation} ca={ca} onClose={onClose} />;
  }
}

const REQUESTS: Record<ConfirmedOperation, () => Promise<unknown>> = {
  replace: () => announceCa(),
  switch: switchToNextCa,
  withdraw: withdrawNextCa,
};

interface ConfirmationProps {
  operation: ConfirmedOperation;
  ca: ConsoleCa;
  onClose: () => void;
}

function ConfirmationDialog({ operation, ca, onClose }: ConfirmationProps) {
  const invalidateAfter = useInvalidateAfter(consoleCaQuery, certificatesQuery);
  const { text, ...dialogProps } = confirmationOf(operation, ca);
  return (
    <SubmitDialog
      {...dialogProps}
      onConfirm={() => invalidateAfter(REQUESTS[operation]())}
      onClose={onClose}
    >
      <span>{text}</span>
      {operation === 'switch' && <BrowserWarning />}
    </SubmitDialog>
  );
}

/** Warning that the switch affects the browser of the user, if the web UI uses a certificate of the console CA. */
function BrowserWarning() {
  const source = useQuery(certificatesQuery).data?.console.source;
  if (source !== 'own') return null;
  return (
    <Alert color="yellow">
      The web UI also uses a certificate of this CA. If your browser does not trust the next CA, the
      web UI stops responding: reload it.
    </Alert>
  );
}

function SigningRequestDialog({ onClose }: { onClose: () => void }) {
  const form = useForm({ common_name: '', organization: '' });
  const invalidateAfter = useInvalidateAfter(consoleCaQuery);
  const { common_name, organization } = form.values;
  return (
    <FormDialog
      title="Have an external CA sign the console CA"
      action="Create request"
      request={{ common_name: common_name.trim(), organization: organization.trim() }}
      onSubmit={(names) => invalidateAfter(createSigningRequest(names))}
      onClose={onClose}
    >
      <span>
        Clients that trust the external CA then trust endpoints and the web UI. Agents continue to
        trust only the console CA, so other certificates of the external CA give no access. The key
        stays in the store, encrypted.
      </span>
      <TextInput
        label="Name"
        description="Common name of the CA. If empty, the console generates a unique name."
        maxLength={64}
        data-autofocus
        {...form.text('common_name')}
      />
      <TextInput
        label="Organization"
        description="Optional."
        maxLength={64}
        {...form.text('organization')}
      />
    </FormDialog>
  );
}

/** Takes a signed certificate and checks it, so that its fields are shown before it is announced. */
function SignedCertificateDialog({ onChecked, onClose }: Pick<Props, 'onChecked' | 'onClose'>) {
  const form = useForm({ certificate: '' });
  const { certificate } = form.values;
  return (
    <FormDialog
      title="Enter certificate"
      action="Check certificate"
      size="lg"
      request={certificate.trim() ? certificate : undefined}
      onSubmit={async (pem) => onChecked({ certificate: pem, ca: await checkCaCertificate(pem) })}
      onClose={onClose}
    >
      <PemField
        label="Certificate chain (PEM)"
        description="Enter the signed certificate first, then the certificates of the CAs above it, preferably including the root."
        {...form.value('certificate')}
      />
    </FormDialog>
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
