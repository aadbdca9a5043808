"""What tools/compare_peers.py is made of.

    settings.py      what is measured, as every engine is told it
    ids.py           the token ids all engines are fed, and how their greedy continuations are compared
    gguf_header.py   the facts about a model that the figures need
    foreign.py       what else ran on the machine during a measurement
    figures.py       medians and ratios of pairs
    comparison.py    the turns, and what is to be believed
    engines.py       one measurement of Plait or of a peer, each in processes of its own
    worker.py        the process in which one peer is measured
    llama_c.py       peers with llama.cpp's C functions
    llama_bench.py   the program llama-bench
    adapters.py      the list of peers, and what is special about each
    report.py        the summary on the terminal
"""
