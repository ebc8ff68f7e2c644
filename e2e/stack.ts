/** Client of stack.py: the address of the stack, and commands that cause failures. */
import net from 'node:net';

export interface Console {
  url: string;
  https_url: string;
  user: string;
  password: string;
}

export interface Pair extends Console {
  /** Address of the second console, with another host name. */
  second_url: string;
}

export interface StackInfo extends Console {
  /** Uid of the database with continuous traffic. */
  bdb: number;
  addresses: string[];
  /** Folder in which all nodes may store backups. */
  backups: string;
  control: string;
}

const VARIABLE = 'SHARDBOARD_E2E_STACK';

export function publish(info: StackInfo): void {
  process.env[VARIABLE] = JSON.stringify(info);
}

/** Return whether the caller runs a stack and passed its address. */
export const isExternalStack = (): boolean => VARIABLE in process.env;

/** Return the stack that the global setup has started. */
export function stackInfo(): StackInfo {
  const text = process.env[VARIABLE];
  if (!text) throw new Error('the stack has not been started');
  return JSON.parse(text) as StackInfo;
}

function command(...words: (string | number)[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = net.connect(stackInfo().control, () => socket.write(`${words.join(' ')}\n`));
    socket.setEncoding('utf8');
    socket.on('data', (part) => {
      answer += part;
    });
    socket.on('error', reject);
    socket.on('end', () => {
      const { result, error } = JSON.parse(answer) as { result?: unknown; error?: string };
      if (error) reject(new Error(error));
      else resolve(result);
    });
  });
}

export const stack = {
  killConsole: () => command('kill-console'),
  startConsole: () => command('start-console'),
  killAgent: (node: number) => command('kill-agent', node),
  startAgents: () => command('start-agents'),
  killShard: (uid: string) => command('kill-shard', uid),
  shardsAlive: () => command('shards-alive') as Promise<number>,
  startTraffic: (bdb: number, rate: number, profile: 'mixed' | 'flash' = 'mixed') =>
    command('start-traffic', bdb, rate, profile),
  stopTraffic: (bdb: number) => command('stop-traffic', bdb),
  startEmpty: () => command('start-empty') as Promise<Console>,
  startPair: () => command('start-pair') as Promise<Pair>,
  killOfPair: (name: 'console' | 'console-2') => command('kill-pair', name),
  restartPair: () => command('restart-pair'),
};
