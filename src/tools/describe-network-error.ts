/**
 * Describes to the model why a connection failed. The system's own messages are not used, because they contain addresses of this network.
 */
export function describeNetworkError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  return problems[code] ?? (/CERT|SIGNATURE/.test(code) ? `its certificate is not trusted (${code})` : `the request failed (${code})`)
}

const problems: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such host is known',
  EAI_AGAIN: 'the host could not be looked up',
  ECONNREFUSED: 'the host refused the connection',
  ECONNRESET: 'the connection broke',
  UND_ERR_SOCKET: 'the connection broke',
  ETIMEDOUT: 'the host did not answer',
  EHOSTUNREACH: 'the host can not be reached',
  ENETUNREACH: 'the host can not be reached',
  HPE_HEADER_OVERFLOW: 'its headers are too long',
  Z_DATA_ERROR: 'its content is not compressed as its headers say',
  Z_BUF_ERROR: 'its content ended too early',
}
