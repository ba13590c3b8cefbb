export { type CodeModeOptions, codeMode, type ScriptLimits } from './code-mode.ts'
