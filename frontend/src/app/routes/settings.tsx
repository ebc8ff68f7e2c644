/** Settings page: cluster settings, consoles, certificates, sign-in with external providers, and the support bundle. */
import { usePermission } from '@/api/access/session';
import { Consoles } from '@/features/settings/Consoles';
import { ConsoleCa } from '@/features/settings/certificates/ConsoleCa';
import { ConsoleCertificate } from '@/features/settings/certificates/ConsoleCertificate';
import { ShardCertificates } from '@/features/settings/certificates/ShardCertificates';
import { PolicyForm } from '@/features/settings/PolicyForm';
import { SupportBundle } from '@/features/settings/SupportBundle';
import { Ldap } from '@/features/settings/signin/Ldap';
import { SingleSignOn } from '@/features/settings/signin/SingleSignOn';
import classes from './pages.module.css';

export function SettingsPage() {
  const may = usePermission('administer');
  const canSeeAll = usePermission('seeAll');
  const mayDebug = usePermission('debug');
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Settings</h1>
      </div>
      <PolicyForm may={may} />
      {canSeeAll && <Consoles may={may} />}
      {canSeeAll && <ConsoleCertificate may={may} />}
      {canSeeAll && <ConsoleCa may={may} />}
      {canSeeAll && <ShardCertificates may={may} />}
      {may && <SingleSignOn />}
      {may && <Ldap />}
      <SupportBundle may={mayDebug} />
    </div>
  );
}
