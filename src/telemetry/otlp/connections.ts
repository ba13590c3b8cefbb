import { readFileSync } from 'node:fs'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { Socket } from 'node:net'
import type { Signal } from './settings.ts'

/**
 * Creates an agent whose connections don't keep the process running, because a collector may never finish its response. The agent reads the
 * environment variables for certificates itself (https://opentelemetry.io/docs/specs/otel/protocol/exporter/), because the SDK applies them
 * only to its own connections.
 */
export function agentFor(signal: Signal, protocol: string): HttpAgent {
  const agent = protocol === 'http:' ? new HttpAgent() : new HttpsAgent(certificatesOf(signal))
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (...given) => {
    const socket = connect(...given)
    return socket instanceof Socket ? socket.unref() : socket
  }
  return agent
}

function certificatesOf(signal: Signal) {
  const read = (name: string) => {
    const file = process.env[`OTEL_EXPORTER_OTLP_${signal}_${name}`] || process.env[`OTEL_EXPORTER_OTLP_${name}`]
    return file ? readFileSync(file) : undefined
  }
  return { ca: read('CERTIFICATE'), cert: read('CLIENT_CERTIFICATE'), key: read('CLIENT_KEY') }
}
