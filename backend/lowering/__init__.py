"""From IR to LLVM IR."""
