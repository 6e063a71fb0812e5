"""Time stepping in compiled code: charts of positions, Runge-Kutta methods, the force law of joints."""
