import { GrpcGate, HEARTBEATS } from './grpc-gate.ts';
import { TcpLink } from './tcp-link.ts';

/** How a replica can be cut off from Temporal. `heartbeats`: everything else goes through. */
export const CUTS = ['both', 'toTemporal', 'fromTemporal', 'heartbeats'] as const;
export type Cut = (typeof CUTS)[number];

/** The way from one replica to Temporal: through a TCP proxy, then through a gRPC proxy. */
export class Link {
  readonly #tcp: TcpLink;
  readonly #gate: GrpcGate;

  private constructor(tcp: TcpLink, gate: GrpcGate) {
    this.#tcp = tcp;
    this.#gate = gate;
  }

  static async open(temporalAddress: string): Promise<Link> {
    const gate = await GrpcGate.open(temporalAddress);
    const tcp = await TcpLink.open({ host: '127.0.0.1', port: gate.port });
    return new Link(tcp, gate);
  }

  get address(): string {
    return `127.0.0.1:${this.#tcp.port}`;
  }

  cut(cut: Cut): void {
    switch (cut) {
      case 'both':
        return this.#tcp.cut('toServer', 'fromServer');
      case 'toTemporal':
        return this.#tcp.cut('toServer');
      case 'fromTemporal':
        return this.#tcp.cut('fromServer');
      case 'heartbeats':
        return this.#gate.hold(HEARTBEATS);
    }
  }

  restore(): void {
    this.#tcp.cut();
    this.#gate.release();
  }

  async close(): Promise<void> {
    await this.#tcp.close();
    await this.#gate.close();
  }
}
