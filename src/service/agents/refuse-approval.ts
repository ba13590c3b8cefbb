import type { ApprovalDecision } from '../../agent/types/options.ts'

/** The `approve` function for clients of OpenAI's APIs and of MCP, which have no way to ask for an approval. */
export function refuseApproval(): ApprovalDecision {
  return { approved: false, reason: 'this call needs an approval, which cannot be given here' }
}
