print("no artifact takes this file, so changing it moves none")
