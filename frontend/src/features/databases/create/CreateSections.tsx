/** Sections of the create form. Each field has a one-line description. */
import {
  Input,
  NativeSelect,
  NumberInput,
  PasswordInput,
  SegmentedControl,
  Switch,
  TextInput,
} from '@mantine/core';
import { PROXY_POLICIES } from '@/api/databases/endpoints';
import { Card } from '@/ui/Card';
import classes from '../databases.module.css';
import { MemoryInput } from '../fields/MemoryInput';
import { NameField } from '../fields/NameField';
import { RackAwareness } from '../fields/RackAwareness';
import { RamLimit } from '../fields/RamLimit';
import { TagsInput } from '../fields/TagsInput';
import { type FieldErrors, SHARDS_MAX } from '../fields/validate';
import {
  type CreateDraft,
  DURABILITY,
  EVICTION_POLICIES,
  INTERNODE_ENCRYPTION,
  memoryBytes,
} from './createDraft';

export interface SectionProps {
  draft: CreateDraft;
  /** Whether another database has the name. */
  nameTaken: boolean;
  errors: FieldErrors;
  update: (part: Partial<CreateDraft>, field: string) => void;
}

export function Sections(props: SectionProps) {
  return (
    <>
      <General {...props} />
      <Capacity {...props} />
      <HighAvailability {...props} />
      <Clustering {...props} />
      <DurabilityAndAccess {...props} />
    </>
  );
}

function General({ draft, nameTaken, errors, update }: SectionProps) {
  return (
    <Card title="General">
      <div className={classes.fields}>
        <NameField
          name={draft.name}
          taken={nameTaken}
          accepted={draft.accepted_name === draft.name}
          error={errors.name}
          onChange={(name) => update({ name }, 'name')}
          onAccept={(accepted) =>
            update({ accepted_name: accepted ? draft.name : undefined }, 'name')
          }
          autoFocus
        />
        <TextInput
          label="Port"
          description="10000 to 19999. If empty, a free port is assigned. Cannot be changed later."
          placeholder="automatic"
          inputMode="numeric"
          value={draft.port}
          error={errors.port}
          onChange={(event) => update({ port: event.currentTarget.value }, 'port')}
          autoComplete="off"
        />
        <div className={classes.wide}>
          <TagsInput
            tags={draft.tags}
            error={errors.tags}
            onChange={(tags) => update({ tags }, 'tags')}
          />
        </div>
      </div>
    </Card>
  );
}

function Capacity({ draft, errors, update }: SectionProps) {
  return (
    <Card title="Capacity">
      <div className={classes.fields}>
        <MemoryInput
          description={
            draft.flash
              ? 'RAM and flash together, for the complete database including replicas.'
              : 'For the complete database including replicas. 0 means no limit.'
          }
          memory={draft.memory}
          unit={draft.memory_unit}
          error={errors.memory_size}
          onChange={(part) => update(part, 'memory_size')}
        />
        <Input.Wrapper
          label="Runs on"
          description="On flash, rarely used values are moved out of RAM. Use it if only a small part of the data is used often."
          error={errors.bigstore}
          data-invalid={errors.bigstore ? true : undefined}
        >
          <SegmentedControl
            aria-label="Runs on"
            display="flex"
            w="fit-content"
            my={4}
            value={draft.flash ? 'flash' : 'ram'}
            onChange={(value) => update({ flash: value === 'flash' }, 'bigstore')}
            data={[
              { value: 'ram', label: 'RAM' },
              { value: 'flash', label: 'Flash' },
            ]}
          />
        </Input.Wrapper>
        {draft.flash && (
          <RamLimit
            memory={memoryBytes(draft)}
            percent={draft.ram_percent}
            error={errors.bigstore_ram_size}
            onChange={(ram_percent) => update({ ram_percent }, 'bigstore_ram_size')}
          />
        )}
        <NativeSelect
          label="Eviction policy"
          description="Keys to evict when memory is full. Volatile policies evict only keys with an expiry."
          value={draft.eviction_policy}
          error={errors.eviction_policy}
          onChange={(event) =>
            update(
              { eviction_policy: event.currentTarget.value as CreateDraft['eviction_policy'] },
              'eviction_policy',
            )
          }
          data={[...EVICTION_POLICIES]}
        />
      </div>
    </Card>
  );
}

function HighAvailability({ draft, errors, update }: SectionProps) {
  return (
    <Card title="High availability">
      <div className={classes.fields}>
        <Switch
          label="Replication"
          description="Each primary has a replica on another node that takes over if its node fails. Doubles the number of shards; half of the memory limit is available for data."
          checked={draft.replication}
          error={errors.replication}
          aria-invalid={errors.replication ? true : undefined}
          onChange={(event) => update({ replication: event.currentTarget.checked }, 'replication')}
        />
        <RackAwareness
          checked={draft.replication && draft.rack_aware === true}
          replication={draft.replication}
          error={errors.rack_aware}
          onChange={(rack_aware) => update({ rack_aware }, 'rack_aware')}
        />
      </div>
    </Card>
  );
}

function Clustering({ draft, errors, update }: SectionProps) {
  return (
    <Card title="Clustering">
      <div className={classes.fields}>
        <Switch
          label="Sharding"
          description="Distributes the keys over several shards by hash slot."
          checked={draft.sharding}
          onChange={(event) => update({ sharding: event.currentTarget.checked }, 'sharding')}
        />
        <Switch
          label="OSS Cluster API"
          description="Cluster-aware clients send each command directly to the right node. Also selects sparse placement and a proxy on every node with primaries."
          checked={draft.oss_cluster}
          error={errors.oss_cluster}
          aria-invalid={errors.oss_cluster ? true : undefined}
          onChange={(event) => update({ oss_cluster: event.currentTarget.checked }, 'oss_cluster')}
        />
        <NumberInput
          label="Number of shards"
          description={`Number of primaries, 1 to ${SHARDS_MAX}, without replicas.`}
          disabled={!draft.sharding}
          value={draft.shards_count}
          error={errors.shards_count}
          onChange={(value) => update({ shards_count: value }, 'shards_count')}
        />
        <NativeSelect
          label="Shard placement"
          description="Dense: as few nodes as possible. Sparse: as many as possible."
          value={draft.shards_placement}
          onChange={(event) =>
            update(
              { shards_placement: event.currentTarget.value as CreateDraft['shards_placement'] },
              'shards_placement',
            )
          }
          data={[
            { value: 'dense', label: 'Dense' },
            { value: 'sparse', label: 'Sparse' },
          ]}
        />
        <NativeSelect
          label="Database proxy"
          description="Nodes that serve the endpoint."
          value={draft.proxy_policy}
          error={errors.proxy_policy}
          onChange={(event) =>
            update(
              { proxy_policy: event.currentTarget.value as CreateDraft['proxy_policy'] },
              'proxy_policy',
            )
          }
          data={PROXY_POLICIES.filter(({ value }) => !draft.oss_cluster || value !== 'single')}
        />
        <NumberInput
          label="I/O threads per shard"
          description="Threads that read requests and write replies; 1 means off. If empty, they are off on nodes with fewer than four cores per shard."
          placeholder="automatic"
          value={draft.io_threads ?? ''}
          error={errors.io_threads}
          onChange={(value) => update({ io_threads: value }, 'io_threads')}
        />
      </div>
    </Card>
  );
}

function DurabilityAndAccess({ draft, errors, update }: SectionProps) {
  return (
    <>
      <Card title="Durability">
        <div className={classes.fields}>
          <NativeSelect
            label="Persistence"
            description="Files from which a shard without a replica can be restarted."
            value={draft.durability}
            error={errors.data_persistence}
            onChange={(event) =>
              update(
                { durability: event.currentTarget.value as CreateDraft['durability'] },
                'data_persistence',
              )
            }
            data={[...DURABILITY]}
          />
        </div>
      </Card>
      <Card title="Access">
        <div className={classes.fields}>
          <PasswordInput
            label="Password of the default user"
            description="Clients send it with AUTH. If empty, anyone who can reach the port can use the database."
            value={draft.password}
            error={errors.authentication_redis_pass}
            onChange={(event) =>
              update({ password: event.currentTarget.value }, 'authentication_redis_pass')
            }
            autoComplete="new-password"
          />
          <Switch
            label="TLS"
            description="Clients must use TLS, and can verify the endpoint with the console CA."
            checked={draft.tls}
            error={errors.tls_mode}
            aria-invalid={errors.tls_mode ? true : undefined}
            onChange={(event) => update({ tls: event.currentTarget.checked }, 'tls_mode')}
          />
          <NativeSelect
            label="Encryption between nodes"
            description="Encrypted: shards and proxies use TLS and authenticate each other with certificates of this database. Cannot be changed later."
            value={draft.between_nodes ?? 'policy'}
            error={errors.data_internode_encryption}
            onChange={(event) =>
              update(
                { between_nodes: event.currentTarget.value as CreateDraft['between_nodes'] },
                'data_internode_encryption',
              )
            }
            data={[...INTERNODE_ENCRYPTION]}
          />
        </div>
      </Card>
    </>
  );
}
