"""Learning to walk, in NumPy alone: what `axion train` and `axion play` run, to be used, read and copied.

    from axion.learning.ppo import Choices, Learner      # proximal policy optimisation over a gymnasium.vector.VectorEnv
    from axion.learning.policy import Policy              # what it trains; Policy.load("learned/quadruped-1.npz").act(observations)
    from axion.learning.task import TaskChoice            # a legged robot that follows commands, or one of Gymnasium's tasks

It needs the extra `gym` of this package; curves want `examples`, pictures and the viewer `view`.
"""
