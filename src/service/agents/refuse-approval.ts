import type { ApprovalDecision } from '../../agent/types/options.ts'

/** The `approve` of runs whose client can't be asked: neither OpenAI's APIs nor MCP have approvals. */
export function refuseApproval(): ApprovalDecision {
  return { approved: false, reason: 'this call needs an approval, which cannot be given here' }
}
