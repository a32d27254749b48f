"""Evaluations: a bank asked of a workspace, two of them compared, a change kept or taken back (P8.7, P9.3).

`running.run` asks, `comparing` weighs, `gating.gate` decides, `drawn.case` makes a case of a saved run. An evaluation
is one file of JSON lines under `.ukai/evals`; measure says what is in it.
"""
