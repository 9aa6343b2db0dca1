"""The same mathematics in many spellings: how much does speed depend on how a program is written?"""
