from games import cheat as cheat
from games import poker as poker
from games import pursuit as pursuit
