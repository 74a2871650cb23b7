from games import cheat as cheat
from games import poker as poker
from games import pursuit as pursuit
from games.base import BotMaker as BotMaker
from games.base import ForPeople as ForPeople
from games.base import GuessesValues as GuessesValues
from games.base import Map as Map
from games.base import Position as Position
